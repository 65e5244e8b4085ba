# build.sh TARGET: builds the four shops into TARGET/FRAMEWORK-ROUTING, where ROUTING is `history` or `hash`. The
# shops are served at the path /FRAMEWORK-ROUTING/, and read their data from data/ below that path.
set -eu
here=$(dirname "$(readlink -f "$0")")
mkdir -p "$1"
target=$(readlink -f "$1")
for framework in react vue angular svelte; do
    mkdir "$target/$framework"
    cp -r "$here/$framework/." "$target/$framework"
    cd "$target/$framework"
    npm install --silent --no-audit --no-fund --no-package-lock
    for ROUTING in history hash; do
        BASE=/$framework-$ROUTING/
        out=$target/$framework-$ROUTING
        export BASE ROUTING
        case $framework in
        angular)
            NG_CLI_ANALYTICS=false npx ng build --configuration "$ROUTING" --base-href "$BASE" --output-path "$out.built" &&
                mv "$out.built/browser" "$out" && rm -r "$out.built"
            ;;
        svelte)
            [ "$ROUTING" = history ] || rm src/routes/+layout.js # without a server anyway
            VITE_HASH=$([ "$ROUTING" = history ] || echo yes) npx vite build --logLevel error && mv build "$out"
            ;;
        *) npx vite build --logLevel error --outDir "$out" ;;
        esac
    done
    cd "$target"
    rm -r "${target:?}/$framework"
done
