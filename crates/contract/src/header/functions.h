
#endif /* _WIN32 */

/* ---- The three functions ---- */

/*
 * Open makes ready. `linkage` is the linkage string of the registration
 * (strings apart by a terminator, two at the end), or NULL. Each reader calls
 * it, so that it may be called several times. Answers ERROR_SUCCESS or why not.
 */
typedef DWORD(APIENTRY *PERFHIVE_OPEN)(LPWSTR linkage);

/*
 * Collect writes the objects asked for. It may be called by several threads at
 * once. `value` is one of
 *
 *     u"Global"        every object that is not costly
 *     u"Costly"        every object whose collection is expensive
 *     u"Foreign NAME"  the objects of the machine NAME, for providers that
 *                      reach other machines; a PERF_DATA_BLOCK goes before them
 *     u"230 5000"      objects by the indexes of their names
 *
 * On entry `*data` points to a buffer of `*bytes` bytes. On success move
 * `*data` behind the last byte written, set `*bytes` to the number of bytes
 * written (a multiple of 4, better of 8) and `*object_types` to the number of
 * objects, and answer ERROR_SUCCESS.
 *
 * In all other cases leave `*data` as it is, set both counts to 0 and answer
 *
 *     ERROR_MORE_DATA  if the buffer is too small; a larger one comes next time
 *     ERROR_SUCCESS    if nothing of what is asked for is yours, or on failure;
 *                      say the reason in the system's log, not at every call
 *
 * A provider whose collection takes long answers only requests by index and
 * "Costly". The host tests what it gets; whatever fails a test is discarded.
 */
typedef DWORD(APIENTRY *PERFHIVE_COLLECT)(LPWSTR value, LPVOID *data, LPDWORD bytes,
                                          LPDWORD object_types);

/* Close is the counterpart of one Open. Answers ERROR_SUCCESS. */
typedef DWORD(APIENTRY *PERFHIVE_CLOSE)(void);

/* ---- Beyond Windows ---- */

/*
 * What perfhive's loader tells a library that asks for it. (On Windows the same
 * is found in the registry and written to the event log.)
 *
 * Registration chooses the indexes of your names: the first one is
 * `first_counter`, and that of the first help text `first_help`; the others
 * follow by the offsets of your .ini file. To learn them, export a function of
 * the type PERFHIVE_HOST_FUNCTION under the name of your Collect function with
 * `Host` behind it: `CollectGauges` goes with `CollectGaugesHost`. It is called
 * once, before the first Open; what it is given stays until the library is
 * unloaded.
 */
typedef struct _PERFHIVE_HOST {
    /* Size of this structure in bytes; it may grow at its end. */
    uint32_t size;
    /* First Counter of the registration. */
    uint32_t first_counter;
    /* First Help of the registration. */
    uint32_t first_help;
    /* Zero. */
    uint32_t reserved;
    /* To be handed to `report`. */
    void *context;
    /*
     * Takes a message for whoever looks after the machine, in UTF-8: why Open or
     * Collect failed. May be called from any thread; called during Open or
     * Collect, it makes these count as failed.
     */
    void(APIENTRY *report)(void *context, const char *text, size_t length);
} PERFHIVE_HOST;

typedef void(APIENTRY *PERFHIVE_HOST_FUNCTION)(const PERFHIVE_HOST *host);

#endif /* PERFHIVE_PROVIDER_H */
