"""Linear algebra: the extension ``linalg`` of the array API standard, as ``wk.linalg``.

Factorizations, solutions and determinants run on the host, through LAPACK, on every backend.
"""

from wgsl_kernels.engine.public import publish as _publish
from wgsl_kernels.ops.compositions import tensordot as tensordot
from wgsl_kernels.ops.compositions import vecdot as vecdot
from wgsl_kernels.ops.factorizations import Eigen as Eigen
from wgsl_kernels.ops.factorizations import Qr as Qr
from wgsl_kernels.ops.factorizations import Svd as Svd
from wgsl_kernels.ops.factorizations import cholesky as cholesky
from wgsl_kernels.ops.factorizations import eigh as eigh
from wgsl_kernels.ops.factorizations import eigvalsh as eigvalsh
from wgsl_kernels.ops.factorizations import qr as qr
from wgsl_kernels.ops.factorizations import svd as svd
from wgsl_kernels.ops.factorizations import svdvals as svdvals
from wgsl_kernels.ops.matrix import matmul as matmul
from wgsl_kernels.ops.matrix import outer as outer
from wgsl_kernels.ops.norms import cross as cross
from wgsl_kernels.ops.norms import diagonal as diagonal
from wgsl_kernels.ops.norms import matrix_norm as matrix_norm
from wgsl_kernels.ops.norms import trace as trace
from wgsl_kernels.ops.norms import vector_norm as vector_norm
from wgsl_kernels.ops.shape import matrix_transpose as matrix_transpose
from wgsl_kernels.ops.solving import Slogdet as Slogdet
from wgsl_kernels.ops.solving import det as det
from wgsl_kernels.ops.solving import inv as inv
from wgsl_kernels.ops.solving import matrix_power as matrix_power
from wgsl_kernels.ops.solving import matrix_rank as matrix_rank
from wgsl_kernels.ops.solving import pinv as pinv
from wgsl_kernels.ops.solving import slogdet as slogdet
from wgsl_kernels.ops.solving import solve as solve

_publish(__name__, of="wgsl_kernels.ops")
