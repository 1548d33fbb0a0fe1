"""Past one machine, on Dask: chunked arrays, the same program on every worker, training, parity.

It needs the extra ``dask``: ``pip install 'wgsl-kernels[dask]'``.
"""
