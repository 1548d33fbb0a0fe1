"""Samples of strings matched, joined into n-grams and hashed."""

from typing import Any

import wgsl_kernels as wk
from wgsl_kernels.testing.sample import Sample

WIDTHS: list[dict[str, Any]] = [
    {"n_gram_widths": (2,), "pad_width": 0, "preserve_short_sequences": False},
    {"n_gram_widths": (2, 3), "pad_width": -1, "preserve_short_sequences": False},
    {"n_gram_widths": (5,), "pad_width": 1, "preserve_short_sequences": True},
    {"n_gram_widths": (4,), "pad_width": 0, "preserve_short_sequences": True},
    {"n_gram_widths": (1,), "pad_width": 3, "preserve_short_sequences": False},
    {"n_gram_widths": (3, 1), "pad_width": 2, "preserve_short_sequences": True},
]
BUCKETS = [
    (shape, {"num_buckets": count})
    for shape, count in zip(
        ((5,), (2, 3), (), (9,), (1, 1), (4,)), (10, 1, 3, 2**31 - 1, 7, 99), strict=True
    )
]


def _n_grams(data: wk.Tensor, **attrs: Any) -> list[wk.Tensor]:
    ends = [0, data.size // 2, data.size]
    return list(wk.string_n_grams(data, ends, separator="|", left_pad="<", right_pad=">", **attrs))


SAMPLES = [
    *(
        Sample("StaticRegexReplace", wk.static_regex_replace, (shape,), "string", attrs)
        for shape, attrs in (
            ((2, 3), {"pattern": "[a-m]", "rewrite": "$&$&"}),
            ((3,), {"pattern": "(.)(.)", "rewrite": "$2$1"}),
            ((), {"pattern": "o", "rewrite": "$$"}),
            ((4,), {"pattern": "[a-z]", "rewrite": "-", "replace_global": False}),
            ((5,), {"pattern": "(?<first>.)", "rewrite": "[$<first>]"}),
            ((2,), {"pattern": "", "rewrite": "."}),
        )
    ),
    *(Sample("StringNGrams", _n_grams, ((6,),), "string", attrs) for attrs in WIDTHS),
    *(
        Sample("StringToHashBucketFast", wk.string_to_hash_bucket_fast, (shape,), "string", attrs)
        for shape, attrs in BUCKETS
    ),
]
