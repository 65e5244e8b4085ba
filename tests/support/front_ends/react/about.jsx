import { useEffect } from "react";
import { Link } from "react-router";

export default function About() {
  useEffect(() => {
    document.title = "About us";
  }, []);
  return <main><h1>About us</h1><p>We sell by post.</p><Link to="/">Home</Link></main>;
}
