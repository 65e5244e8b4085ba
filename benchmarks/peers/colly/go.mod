module colly_peer

go 1.23

require github.com/gocolly/colly/v2 v2.2.0
