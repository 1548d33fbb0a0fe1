"""Linking: modules of WGSL with imports and conditions (WESL) in, one plain WGSL module out."""
