// The Colly crawler of benchmarks/speed.py. It follows all links of one host, and writes URL, title, status and number of links.
package main

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/gocolly/colly/v2"
)

type page struct {
	URL    string `json:"url"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Links  int    `json:"links"`
}

func main() {
	start := os.Args[1]
	u, _ := url.Parse(start)
	out, _ := os.Create(os.Args[2])
	w := bufio.NewWriter(out)
	var lock sync.Mutex
	c := colly.NewCollector(colly.Async(true), colly.AllowedDomains(u.Hostname(), u.Host), colly.MaxDepth(0))
	c.IgnoreRobotsTxt = false
	c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 64})
	c.OnHTML("html", func(e *colly.HTMLElement) {
		links := e.ChildAttrs("a[href]", "href")
		row, _ := json.Marshal(page{e.Request.URL.String(), e.ChildText("title"), e.Response.StatusCode, len(links)})
		lock.Lock()
		w.Write(append(row, '\n'))
		lock.Unlock()
		for _, link := range links {
			link, _, _ = strings.Cut(link, "#") // otherwise Colly fetches a page once per fragment
			e.Request.Visit(link)
		}
	})
	c.Visit(start)
	c.Wait()
	w.Flush()
}
