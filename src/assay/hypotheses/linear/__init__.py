"""What linear models with a loss and a penalty share: survey of the rows, plan, fitting, claims."""
