"""Optimizers: they change variables so that a loss falls."""

import types as _types
from typing import TYPE_CHECKING as _TYPE_CHECKING

from wgsl_kernels.engine.registry.public import publish as _publish
from wgsl_kernels.train import schedules as schedules
from wgsl_kernels.train.adagrad import Adadelta as Adadelta
from wgsl_kernels.train.adagrad import Adagrad as Adagrad
from wgsl_kernels.train.adam import Adam as Adam
from wgsl_kernels.train.adamax import Adamax as Adamax
from wgsl_kernels.train.adamw import AdamW as AdamW
from wgsl_kernels.train.average import ExponentialMovingAverage as ExponentialMovingAverage
from wgsl_kernels.train.clipping import clip_by_global_norm as clip_by_global_norm
from wgsl_kernels.train.momentum import Momentum as Momentum
from wgsl_kernels.train.optimizer import Optimizer as Optimizer
from wgsl_kernels.train.plateau import ReduceLROnPlateau as ReduceLROnPlateau
from wgsl_kernels.train.rmsprop import RMSProp as RMSProp
from wgsl_kernels.train.schedules import CosineDecay as CosineDecay
from wgsl_kernels.train.schedules import ExponentialDecay as ExponentialDecay
from wgsl_kernels.train.schedules import LinearWarmup as LinearWarmup
from wgsl_kernels.train.schedules import PiecewiseConstant as PiecewiseConstant
from wgsl_kernels.train.schedules import PolynomialDecay as PolynomialDecay
from wgsl_kernels.train.sgd import SGD as SGD

if _TYPE_CHECKING:
    from wgsl_kernels.train.accumulation import GradientAccumulator as GradientAccumulator
    from wgsl_kernels.train.groups import ParameterGroups as ParameterGroups
    from wgsl_kernels.train.precision import LossScale as LossScale
    from wgsl_kernels.train.precision import cast_trainable as cast_trainable

_LAZY = {
    "GradientAccumulator": "wgsl_kernels.train.accumulation",
    "LossScale": "wgsl_kernels.train.precision",
    "ParameterGroups": "wgsl_kernels.train.groups",
    "cast_trainable": "wgsl_kernels.train.precision",
}
for _name in [name for name, value in globals().items() if isinstance(value, _types.ModuleType)]:
    if _name not in ("schedules", "_types"):  # a module `adam` would hide what is meant by it
        del globals()[_name]
_publish(__name__, lazy=_LAZY)
