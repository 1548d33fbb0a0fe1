"""How calls of NumPy, PyTorch and JAX are written here: keywords, positions, attributes."""

KEYWORDS = {
    "alpha": "learning_rate",
    "b1": "beta1",
    "b2": "beta2",
    "beta_1": "beta1",
    "beta_2": "beta2",
    "betas": "beta1 and beta2",
    "decay": "a schedule of wk.train as learning_rate",
    "eps": "epsilon",
    "lr": "learning_rate",
    "momentum": "wk.train.Momentum(learning_rate, momentum)",
    "nesterov": "use_nesterov",
    "parameters": "minimize(f, variables)",
    "params": "minimize(f, variables)",
    "step_size": "learning_rate",
    "weight_decay": "wk.train.AdamW(learning_rate, weight_decay=…)",
}
"""Keywords of optimizers."""

ARGUMENTS = {
    "a_max": "max",
    "a_min": "min",
    "bias": "x + bias after it, or wk.fused_conv2d",
    "ddof": "correction",
    "decimals": "round(x, decimals), which is Python's",
    "device": "wk.use_backend(name) around it",
    "dilation": "dilations",
    "dim": "axis",
    "dims": "axis",
    "groups": "a convolution for each group, and wk.concat",
    "inplace": "the result: a tensor never changes",
    "keepdim": "keepdims",
    "kernel_size": "filter_size",
    "num_classes": "depth",
    "out": "the result: a tensor never changes",
    "p": "rate",
    "padding": "pad",
    "requires_grad": "wk.variable(values), or wk.grad of a function",
    "return_counts": "wk.unique_counts(x), or wk.unique_all(x)",
    "return_inverse": "wk.unique_inverse(x), or wk.unique_all(x)",
    "size_average": "wk.mean of it",
    "stride": "strides",
    "unbiased": "correction=1 or correction=0",
    "unitriangular": "unit_diagonal",
    "value": "constant_value",
}
"""Keywords of functions."""

CALLS = {
    "Tensor": "wk.tensor(values)",
    "Variable": "wk.variable(values)",
    "round": "round(x, decimals), which is Python's",
    "where": "wk.nonzero(mask) for where it is true, or wk.where(mask, a, b)",
}
"""Functions and classes that are called with other arguments elsewhere."""

CALLED = {
    "T": "x.T",
    "device": "x.device, or x.to_device(name)",
    "dtype": "x.dtype, or x.astype(dtype)",
    "mT": "x.mT",
    "nbytes": "x.nbytes",
    "ndim": "x.ndim",
    "shape": "x.shape",
    "size": "x.size, the number of elements, or x.shape",
    "step": "optimizer.minimize(f), or optimizer.apply_gradients(gradients)",
}
"""Attributes that are methods elsewhere."""
