"""Linear algebra: the extension ``linalg`` of the array API standard, as ``wk.linalg``.

Factorizations, solutions and determinants run on the host, through LAPACK, on every backend.
"""

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.ops.linear_algebra.factorizations import Eigen as Eigen
from wgsl_kernels.ops.linear_algebra.factorizations import Qr as Qr
from wgsl_kernels.ops.linear_algebra.factorizations import Svd as Svd
from wgsl_kernels.ops.linear_algebra.factorizations import cholesky as cholesky
from wgsl_kernels.ops.linear_algebra.factorizations import eigh as eigh
from wgsl_kernels.ops.linear_algebra.factorizations import eigvalsh as eigvalsh
from wgsl_kernels.ops.linear_algebra.factorizations import qr as qr
from wgsl_kernels.ops.linear_algebra.factorizations import svd as svd
from wgsl_kernels.ops.linear_algebra.factorizations import svdvals as svdvals
from wgsl_kernels.ops.linear_algebra.least_squares import Lstsq as Lstsq
from wgsl_kernels.ops.linear_algebra.least_squares import lstsq as lstsq
from wgsl_kernels.ops.linear_algebra.matrix import matmul as matmul
from wgsl_kernels.ops.linear_algebra.matrix import outer as outer
from wgsl_kernels.ops.linear_algebra.norms import cross as cross
from wgsl_kernels.ops.linear_algebra.norms import diagonal as diagonal
from wgsl_kernels.ops.linear_algebra.norms import matrix_norm as matrix_norm
from wgsl_kernels.ops.linear_algebra.norms import trace as trace
from wgsl_kernels.ops.linear_algebra.norms import vector_norm as vector_norm
from wgsl_kernels.ops.linear_algebra.solving import Slogdet as Slogdet
from wgsl_kernels.ops.linear_algebra.solving import det as det
from wgsl_kernels.ops.linear_algebra.solving import inv as inv
from wgsl_kernels.ops.linear_algebra.solving import matrix_power as matrix_power
from wgsl_kernels.ops.linear_algebra.solving import matrix_rank as matrix_rank
from wgsl_kernels.ops.linear_algebra.solving import pinv as pinv
from wgsl_kernels.ops.linear_algebra.solving import slogdet as slogdet
from wgsl_kernels.ops.linear_algebra.solving import solve as solve
from wgsl_kernels.ops.linear_algebra.triangular import solve_triangular as solve_triangular
from wgsl_kernels.ops.names.compositions import tensordot as tensordot
from wgsl_kernels.ops.names.compositions import vecdot as vecdot
from wgsl_kernels.ops.shapes.shape import matrix_transpose as matrix_transpose

_publish(__name__, of="wgsl_kernels.ops")
