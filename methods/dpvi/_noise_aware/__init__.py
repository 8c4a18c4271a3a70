"""The numerics of DPVI and of the methods that use its trace or its gradients."""
