import adapter from "@sveltejs/adapter-static";

export default {
  kit: {
    adapter: adapter({ fallback: "index.html" }),
    paths: { base: process.env.BASE.replace(/\/$/, ""), relative: false },
    router: { type: process.env.ROUTING === "hash" ? "hash" : "pathname" },
  },
};
