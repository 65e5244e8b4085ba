import { Suspense, lazy, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { BrowserRouter, HashRouter, Link, Route, Routes, useParams, useSearchParams } from "react-router";

const About = lazy(() => import("./about.jsx"));

function useData(name) {
  const [data, set] = useState(null);
  useEffect(() => {
    fetch(`${import.meta.env.BASE_URL}data/${name}.json`)
      .then((answer) => answer.json())
      .then((found) => {
        document.title = found.name;
        set(found);
      });
  }, [name]);
  return data;
}

function Home() {
  const data = useData("home");
  if (!data) return <p>Loading…</p>;
  return (
    <main>
      <h1>{data.name}</h1>
      <ul>{data.categories.map((one) => <li key={one.slug}><Link to={`/c/${one.slug}`}>{one.name}</Link></li>)}</ul>
      <Link to="/about">About</Link>
    </main>
  );
}

function Category() {
  const page = useSearchParams()[0].get("page") ?? "1";
  const data = useData(`c-${useParams().slug}-${page}`);
  if (!data) return <p>Loading…</p>;
  return (
    <main>
      <h1>{data.name}</h1>
      <ul>{data.products.map((one) => <li key={one.sku}><Link to={`/p/${one.sku}`}>{one.name}</Link></li>)}</ul>
      {data.next && <Link rel="next" to={`?page=${data.next}`}>Next</Link>}
      <Link to="/">Home</Link>
    </main>
  );
}

function Product() {
  const data = useData(`p-${useParams().sku}`);
  if (!data) return <p>Loading…</p>;
  return (
    <main>
      <h1>{data.name}</h1>
      <p className="price">{data.price}</p>
      <p className="sku">{data.sku}</p>
      <p className="description">{data.description}</p>
      <Link className="related" to={`/p/${data.related}`}>Goes with it</Link>
      <Link to={`/c/${data.category}`}>Back</Link>
    </main>
  );
}

const Router = HASH ? HashRouter : BrowserRouter;
createRoot(document.getElementById("root")).render(
  <Router basename={HASH ? "/" : import.meta.env.BASE_URL}>
    <Suspense fallback={<p>Loading…</p>}>
      <Routes>
        <Route path="/" element={<Home />} />
        <Route path="/c/:slug" element={<Category />} />
        <Route path="/p/:sku" element={<Product />} />
        <Route path="/about" element={<About />} />
      </Routes>
    </Suspense>
  </Router>,
);
