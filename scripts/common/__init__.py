"""Parts that the page of `report` and the plots share."""
