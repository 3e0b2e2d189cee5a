//! The Java side: the jar with the native library in it, its tests and its benchmark.
//!
//! `javac` and `jar` are called directly, because a build of a hundred files needs no build tool.
//! JUnit is Debian's, because no build tool downloads it. Everything is built below `target/java`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::test::FEATURES;
use crate::{command, tools, workspace};

/// The jars that JUnit's console needs, by the names that Debian gives them.
const JUNIT: &[&str] = &[
    "junit-jupiter-api",
    "junit-jupiter-engine",
    "junit-jupiter-params",
    "junit-platform-commons",
    "junit-platform-console",
    "junit-platform-engine",
    "junit-platform-launcher",
    "junit-platform-reporting",
    "opentest4j",
    "opentest4j-reporting-events",
    "apiguardian-api",
    "picocli",
    "univocity-parsers",
];

/// The beginnings of the messages by which the JVM reports native methods that break its rules.
const COMPLAINTS: &[&str] = &["WARNING in native method", "FATAL ERROR in native method"];

/// The options of javac for every source: all lints except `path` and `try` as errors, Java 17,
/// UTF-8, and names for debuggers and messages.
const LINTS: &[&str] = &[
    "-g",
    "-Xlint:all,-path,-try",
    "-Werror",
    "-Xdoclint:html,reference,syntax,accessibility",
    "--release",
    "17",
    "-encoding",
    "UTF-8",
];

/// The option for javac and javadoc that leaves out the JVM's second compiler, since both run for
/// seconds only.
const QUICK: &[&str] = &["-J-XX:TieredStopAtLevel=1"];

/// A build of the Java side.
pub(crate) struct Java {
    folder: PathBuf,
    /// The jar with the native library.
    pub(crate) jar: PathBuf,
}

impl Java {
    /// Builds the native library, and the jar that contains it.
    pub(crate) fn build(release: bool) -> Result<Self> {
        tools::system(tools::JAVA)?;
        let profile = if release { "release" } else { "debug" };
        // Where there is no clang, the library is built without its reader through BPF.
        let mut cargo = command::cargo(&["build", "--locked"]);
        match release {
            true => cargo.args(["--release", "-p", "perfhive-jni", "--features", "bpf"]),
            // Built with all crates, as the tests do: for this crate alone cargo would choose other features of its
            // dependencies, and build them anew.
            false => cargo.args(["--workspace", "--lib"]).args(FEATURES),
        };
        command::run(&mut cargo)?;
        let target = workspace::target_directory()?;
        let file =
            format!("{}perfhive_jni{}", std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
        let folder = target.join("java").join(profile);
        let classes = emptied(&folder.join("classes"))?;
        let java = Self { jar: folder.join("perfhive.jar"), folder };
        let root = workspace::root()?;
        java.compile(&root.join("java/src/main/java"), &classes, "")?;
        let services = "META-INF/services/org.perfhive.DataSource";
        let platform = format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH);
        let library = classes.join("org/perfhive/native").join(platform).join(&file);
        for (from, to) in [
            (root.join("java/src/main/resources").join(services), classes.join(services)),
            (target.join(profile).join(&file), library),
        ] {
            std::fs::create_dir_all(to.parent().context("no folder")?)?;
            std::fs::copy(&from, &to).with_context(|| format!("cannot copy {}", from.display()))?;
        }
        // A library with symbols takes long to compress, so that a debug build stores it uncompressed.
        let how: &[&str] = if release { &["--create"] } else { &["--create", "--no-compress"] };
        java.archive(&java.jar, &classes, how)?;
        Ok(java)
    }

    /// Builds the jars for programmers: the sources and the documentation.
    pub(crate) fn documents(&self) -> Result<()> {
        let root = workspace::root()?.join("java/src/main/java");
        self.archive(&self.folder.join("perfhive-sources.jar"), &root, &["--create"])?;
        let html = emptied(&self.folder.join("javadoc"))?;
        let mut javadoc = command::program("javadoc", QUICK);
        javadoc.args(["-quiet", "-Xdoclint:none", "-Werror"]);
        javadoc.args(["-encoding", "UTF-8", "--release", "17", "-d"]).arg(&html);
        command::run(javadoc.arg(self.sources(&root)?))?;
        self.archive(&self.folder.join("perfhive-javadoc.jar"), &html, &["--create"])
    }

    /// Writes all files of the folder `content` into a jar; `how` has further options of the
    /// program `jar`.
    fn archive(&self, jar: &Path, content: &Path, how: &[&str]) -> Result<()> {
        let mut command = command::program("jar", how);
        command.arg("--file").arg(jar).arg("-C").arg(content).arg(".");
        command::run(&mut command)
    }

    /// Compiles all Java files of a folder into the folder `classes`; `path` is the class path.
    fn compile(&self, folder: &Path, classes: &Path, path: &str) -> Result<()> {
        let mut javac = command::program("javac", QUICK);
        javac.args(LINTS);
        javac.arg("-d").arg(classes).args(["-classpath", path]).arg(self.sources(folder)?);
        command::run(&mut javac)
    }

    /// Runs the tests against the jar, each call of a native method checked by the JVM.
    pub(crate) fn test(&self) -> Result<()> {
        let root = workspace::root()?;
        let classes = emptied(&self.folder.join("test-classes"))?;
        let mut path: Vec<String> = vec![self.jar.to_string_lossy().into_owned()];
        path.extend(JUNIT.iter().map(|name| format!("/usr/share/java/{name}.jar")));
        self.compile(&root.join("java/src/test/java"), &classes, &path.join(":"))?;
        path.push(classes.to_string_lossy().into_owned());
        path.push(root.join("java/src/test/resources").to_string_lossy().into_owned());
        let mut java = command::program("java", &["-Xcheck:jni", "-Xms256m", "-Xmx256m"]);
        // A test measures the memory of the process: the heap must not grow meanwhile.
        java.arg("-XX:+AlwaysPreTouch");
        java.env("RUST_BACKTRACE", "0");
        java.arg(format!("-Dperfhive.root={}", root.display()));
        java.arg(format!("-Dperfhive.work={}", emptied(&self.folder.join("work"))?.display()));
        if let Some(data) = workspace::real_data() {
            java.arg(format!("-Dperfhive.data={}", data.display()));
        }
        java.args(["-classpath", &path.join(":"), "org.junit.platform.console.ConsoleLauncher"]);
        java.args(["--disable-banner", "--disable-ansi-colors", "--details=tree"]);
        java.args(["--fail-if-no-tests", "--scan-classpath"]).arg(&classes);
        say!("$ {}", command::display(&java));
        let output = java.output().context("cannot start `java`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        say!("{}{}", text, String::from_utf8_lossy(&output.stderr));
        if !output.status.success() {
            bail!("the tests of the Java side failed ({})", output.status);
        }
        match COMPLAINTS.iter().find(|complaint| text.contains(**complaint)) {
            Some(complaint) => bail!("-Xcheck:jni says: {complaint}"),
            None => Ok(()),
        }
    }

    /// Runs the benchmark.
    pub(crate) fn bench(&self) -> Result<()> {
        let root = workspace::root()?;
        let classes = emptied(&self.folder.join("bench-classes"))?;
        let jar = self.jar.to_string_lossy().into_owned();
        self.compile(&root.join("java/src/bench/java"), &classes, &jar)?;
        let path = format!("{jar}:{}", classes.display());
        let options = ["-Xmx512m", "-Xlog:disable", "-classpath", &path, "org.perfhive.Bench"];
        command::run(&mut command::program("java", &options))
    }

    /// The argument of javac for all Java files of a folder: `@` and the path of a file that lists them.
    fn sources(&self, folder: &Path) -> Result<String> {
        let mut list = Vec::new();
        let mut folders = vec![folder.to_path_buf()];
        while let Some(folder) = folders.pop() {
            let entries =
                std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
            for entry in entries {
                let path = entry?.path();
                match path.extension() {
                    _ if path.is_dir() => folders.push(path),
                    Some(extension) if extension == "java" => {
                        list.push(format!("\"{}\"\n", path.display()));
                    }
                    _ => {}
                }
            }
        }
        list.sort();
        let file = self.folder.join("sources.txt");
        std::fs::write(&file, list.concat()).with_context(|| file.display().to_string())?;
        Ok(format!("@{}", workspace::relative(&file.to_string_lossy())))
    }
}

/// The folder, made empty or created.
fn emptied(folder: &Path) -> Result<PathBuf> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(folder.to_path_buf())
}
