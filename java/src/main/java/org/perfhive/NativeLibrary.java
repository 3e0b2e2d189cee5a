package org.perfhive;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.Optional;

/** Finds and loads the native library, once in a class loader. */
final class NativeLibrary {
    /** The system property with the path of the library, instead of the one in the jar. */
    static final String PROPERTY = "org.perfhive.library";

    private NativeLibrary() {}

    static void load() {
        Optional<Path> given = given();
        if (given.isPresent()) {
            System.load(given.get().toAbsolutePath().toString());
            return;
        }
        String file = System.mapLibraryName("perfhive_jni");
        String resource = "/org/perfhive/native/" + platform() + "/" + file;
        try (InputStream in = NativeLibrary.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new UnsatisfiedLinkError("this jar has no library for " + platform()
                        + "; set -D" + PROPERTY + "=PATH to " + file + " built for it");
            }
            // A folder of its own, which no other user can write to.
            Path folder = Files.createTempDirectory("perfhive");
            Path library = folder.resolve(file);
            try {
                Files.copy(in, library, StandardCopyOption.REPLACE_EXISTING);
                System.load(library.toString());
            } catch (UnsatisfiedLinkError error) {
                // Such as in a folder from which nothing may be executed.
                throw new UnsatisfiedLinkError(error.getMessage() + "; set -D" + PROPERTY
                        + "=PATH to load one as it lies there");
            } finally {
                remove(library);
                remove(folder);
            }
        } catch (IOException error) {
            throw new UnsatisfiedLinkError("cannot unpack the native library: " + error
                    + "; set -D" + PROPERTY + "=PATH to load one as it lies there");
        }
    }

    /** The library that the property names. An empty property, such as a script's unset variable, names none. */
    static Optional<Path> given() {
        return Optional.ofNullable(System.getProperty(PROPERTY)).filter(path -> !path.isEmpty()).map(Path::of);
    }

    /** Removes a file or folder, or leaves that to the end of the program, as for a loaded library on Windows. */
    private static void remove(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException error) {
            path.toFile().deleteOnExit();
        }
    }

    /** The system and the processor, as the folder in the jar is called: {@code linux-x86_64}. */
    static String platform() {
        String system = System.getProperty("os.name").toLowerCase(Locale.ROOT);
        system = system.startsWith("windows") ? "windows" : system.replace(' ', '-');
        String processor = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return system + "-" + (processor.equals("amd64") ? "x86_64" : processor);
    }
}
