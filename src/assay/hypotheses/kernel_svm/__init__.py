"""Support vector machines in the feature space of a kernel: classes and numbers. Shape: pairwise blocks."""

from assay.hypotheses.kernel_svm.svc import SVC as SVC
from assay.hypotheses.kernel_svm.svr import SVR as SVR
