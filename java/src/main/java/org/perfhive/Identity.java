package org.perfhive;

import java.util.Objects;
import java.util.OptionalLong;

/**
 * What tells an instance apart from others, in this sample and the next: for a process or thread its
 * ID and the time of its start, for another instance its number or its names.
 *
 * @param text the whole identity as a text; equal identities have equal texts
 * @param processId the ID of the process, or of the process of the thread; empty for other instances
 */
public record Identity(String text, OptionalLong processId) {
    /** Refuses {@code null} for any part. */
    public Identity {
        Objects.requireNonNull(text);
        Objects.requireNonNull(processId);
    }

    static Identity of(Message answer) {
        String text = answer.text();
        long process = answer.int64();
        return new Identity(text, process < 0 ? OptionalLong.empty() : OptionalLong.of(process));
    }

    @Override
    public String toString() {
        return text;
    }
}
