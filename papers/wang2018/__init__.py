"""Wang (2018), Revisiting differentially private linear regression: AdaSSP, AdaOPS and what they are compared with."""
