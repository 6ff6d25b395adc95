"""Tables as offices write them: 12.179,35, $1,234,567, 45.1 %, 09.02.2021. What a text column means by its values, found over all of them."""
