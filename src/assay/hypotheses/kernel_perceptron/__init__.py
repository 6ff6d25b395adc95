"""The kernel perceptron. Shape: ordered stream."""

from assay.hypotheses.kernel_perceptron.model import KernelPerceptron as KernelPerceptron
