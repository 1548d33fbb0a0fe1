"""Samples of the activation functions."""

import wgsl_kernels as wk
from wgsl_kernels.testing.bounds import exact, plus, relative, safe, ulp
from wgsl_kernels.testing.sample import Sample
from wgsl_kernels.testing.samples import run_of

ELU_GRAD = run_of("EluGrad", "dy", "y")
SELU = plus(safe("safe_expm1"), ulp(2))
"""The factor is rounded, and the product."""

SAMPLES = [
    Sample("Elu", wk.elu, ((2, 3),), bound=safe("safe_expm1")),
    Sample("Elu", wk.elu, ((65,),), low=-9.0, high=9.0, bound=safe("safe_expm1")),
    Sample("EluGrad", ELU_GRAD, ((2, 3), (2, 3)), low=-0.9, bound=relative(2.0**-22)),
    Sample("EluGrad", ELU_GRAD, ((65,), (65,)), low=-0.9, bound=relative(2.0**-22)),
    Sample("LeakyRelu", wk.leaky_relu, ((2, 3),), bound=relative(2.0**-24)),
    Sample("LeakyRelu", wk.leaky_relu, ((5, 13),), attrs={"alpha": 0.3}, bound=relative(2.0**-24)),
    Sample("LeakyRelu", wk.leaky_relu, ((9,),), attrs={"alpha": -1.0}, bound=ulp(1)),
    Sample("LeakyRelu", wk.leaky_relu, ((9,),), "int32", {}, -9, 9, relative(2.0**-24)),
    Sample("LeakyRelu", wk.leaky_relu, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Prelu", wk.prelu, ((2, 3), (2, 3)), bound=ulp(1)),
    Sample("Prelu", wk.prelu, ((4, 5, 3), (5, 1)), bound=ulp(1)),
    Sample("Prelu", wk.prelu, ((3, 1), (2, 1, 5)), bound=ulp(1)),
    Sample("Prelu", wk.prelu, ((5,), (5,)), ("int32", "float32"), {}, -5, 5, ulp(1)),
    Sample("Prelu", wk.prelu, ((7,), (7,)), dtypes=("bool", "int32"), low=0, high=2),
    Sample("Relu", wk.relu, ((2, 3),), bound=exact()),
    Sample("Relu", wk.relu, ((65,),), bound=exact()),
    Sample("Relu", wk.relu, ((7,),), dtypes="int32", low=-9, high=9),
    Sample("Relu", wk.relu, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Relu6", wk.relu6, ((2, 3),), low=-9.0, high=9.0, bound=exact()),
    Sample("Relu6", wk.relu6, ((65,),), low=-9.0, high=9.0, bound=exact()),
    Sample("Relu6", wk.relu6, ((9,),), dtypes="int32", low=-9, high=12),
    Sample("Relu6", wk.relu6, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Selu", wk.selu, ((2, 3),), bound=SELU),
    Sample("Selu", wk.selu, ((65,),), low=-20.0, high=20.0, bound=SELU),
    Sample("Selu", wk.selu, ((3, 1, 2),), low=-5.0, high=-3.0, bound=SELU),
    Sample("Selu", wk.selu, ((9,),), dtypes="float16", bound=ulp(1)),
    Sample("Selu", wk.selu, ((33,),), dtypes="int32", low=-9, high=2e9),
    Sample("Selu", wk.selu, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Sigmoid", wk.sigmoid, ((2, 3),), bound=safe("safe_sigmoid")),
    Sample("Sigmoid", wk.sigmoid, ((65,),), low=-20.0, high=20.0, bound=safe("safe_sigmoid")),
    Sample("Softplus", wk.softplus, ((2, 3),), bound=safe("safe_softplus")),
    Sample("Softplus", wk.softplus, ((65,),), low=-20.0, high=20.0, bound=safe("safe_softplus")),
    Sample("Softplus", wk.softplus, ((9,),), dtypes="int32", low=-9, high=9),
    Sample("Softplus", wk.softplus, ((7,),), dtypes="bool", low=0, high=2),
    Sample("Step", wk.step, ((2, 3),), bound=exact()),
    Sample("Step", wk.step, ((65,),), attrs={"alpha": -1.0}, bound=exact()),
    Sample("Step", wk.step, ((9,),), dtypes="int32", attrs={"alpha": 2.5}, low=-9, high=9),
    Sample("Step", wk.step, ((7,),), dtypes="bool", low=0, high=2),
]
