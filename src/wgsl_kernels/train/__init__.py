"""Optimizers: they change variables so that a loss falls."""

from wgsl_kernels.engine.public import publish as _publish
from wgsl_kernels.train.adam import Adam as Adam
from wgsl_kernels.train.momentum import Momentum as Momentum
from wgsl_kernels.train.optimizer import Optimizer as Optimizer
from wgsl_kernels.train.sgd import SGD as SGD

_publish(__name__)
