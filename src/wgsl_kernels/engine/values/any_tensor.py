"""What is known of any tensor where tensors are not: that it is one."""


class AnyTensor:
    """The base of tensors and variables."""

    __slots__ = ()
    _shown_as = "a tensor"  # in messages, which do not read it
