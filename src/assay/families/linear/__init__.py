"""Linear models with a loss and a penalty: logistic regression, the linear support vector machine, any risk of one's own."""
