"""Windows that move over images on the CPU: convolution, convolution by channel, pooling."""
