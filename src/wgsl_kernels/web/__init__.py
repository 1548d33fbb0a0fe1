"""Programs for a browser: the same shaders, on a page that any static server serves."""

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.web.export import export as export
from wgsl_kernels.web.serve import Server as Server
from wgsl_kernels.web.serve import serve as serve

_publish(__name__)
