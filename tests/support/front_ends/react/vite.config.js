export default {
  base: process.env.BASE,
  define: { HASH: JSON.stringify(process.env.ROUTING === "hash") },
  esbuild: { jsx: "automatic" },
};
