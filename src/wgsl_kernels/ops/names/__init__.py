"""What ops are called here, in NumPy, in TensorFlow.js and in the array API standard."""
