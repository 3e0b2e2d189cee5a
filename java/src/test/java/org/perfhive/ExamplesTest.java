package org.perfhive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.StringWriter;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The examples of the manual and of the folder of examples are compiled and run. */
class ExamplesTest {
    private static final Path ROOT = Path.of(System.getProperty("perfhive.root"));
    private static final Path WORK = Path.of(System.getProperty("perfhive.work"));
    private static final Pattern BLOCK = Pattern.compile("(?ms)^```java\n(.*?)^```");

    /** Compiles a class and returns what its main method prints. */
    private static String run(String name, Path source) throws Exception {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Path classes = Files.createDirectories(WORK.resolve("examples").resolve(name));
        StringWriter errors = new StringWriter();
        try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
            List<String> options = List.of("-Xlint:all,-path,-try", "-Werror", "-d",
                    classes.toString(), "-classpath", System.getProperty("java.class.path"));
            boolean compiled = compiler.getTask(
                    errors, files, null, options, null, files.getJavaFileObjects(source)).call();
            assertTrue(compiled, errors::toString);
        }
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        URL[] path = {classes.toUri().toURL()};
        try (URLClassLoader loader = new URLClassLoader(path, ExamplesTest.class.getClassLoader())) {
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            Object arguments = new String[0];
            loader.loadClass(name).getMethod("main", String[].class).invoke(null, arguments);
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    @TestFactory
    Stream<DynamicTest> everyExampleOfTheManualRuns() throws Exception {
        Matcher blocks = BLOCK.matcher(Files.readString(ROOT.resolve("docs/manual/java.md")));
        List<DynamicTest> tests = new ArrayList<>();
        while (blocks.find()) {
            String body = blocks.group(1);
            String name = "Manual" + tests.size();
            // An example with a class of its own is a whole file.
            String code = body.contains("public final class ")
                    ? body
                    : "import org.perfhive.*;\nimport java.time.*;\nimport java.util.*;\n"
                            + "public final class " + name
                            + " {\n    public static void main(String[] args) throws Exception {\n"
                            + body + "    }\n}\n";
            tests.add(DynamicTest.dynamicTest(name + ": " + body.lines().findFirst().orElse(""), () -> {
                Matcher own = Pattern.compile("public final class (\\w+)").matcher(code);
                assertTrue(own.find());
                Path folder = Files.createDirectories(WORK.resolve("manual").resolve(name));
                Path source = folder.resolve(own.group(1) + ".java");
                Files.writeString(source, code);
                run(own.group(1), source);
            }));
        }
        assertTrue(tests.size() >= 5, tests.size() + " examples");
        return tests.stream();
    }

    @Test
    void theExampleOfCodePointsMeasuresItself() throws Exception {
        String text = run("CodePoints", ROOT.resolve("java/src/examples/java/CodePoints.java"));
        List<String> lines = text.lines().toList();
        assertEquals(9, lines.size(), text);
        assertEquals("both sections ran", lines.get(8));
        // The second section wrote 4 MiB.
        Matcher counted = Pattern.compile(", (\\d+) counted$").matcher(lines.get(7));
        assertTrue(counted.find() && Long.parseLong(counted.group(1)) >= 4 << 20, text);
    }
}
