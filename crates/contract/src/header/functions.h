
#endif /* _WIN32 */

/* ---- The three functions ---- */

/*
 * Open prepares the provider. `linkage` is the linkage string of the registration
 * (strings separated by NUL, two NULs at the end), or NULL. Each reader calls Open
 * once, so that it may be called several times. Returns ERROR_SUCCESS or an error.
 */
typedef DWORD(APIENTRY *PERFHIVE_OPEN)(LPWSTR linkage);

/*
 * Collect writes the requested objects. Several threads may call it at once. `value` is one of
 *
 *     u"Global"        every object that is not costly
 *     u"Costly"        every object whose collection is expensive
 *     u"Foreign NAME"  the objects of the machine NAME, for providers that
 *                      reach other machines, behind a PERF_DATA_BLOCK
 *     u"230 5000"      objects by the indexes of their names
 *
 * On entry `*data` points to a buffer of `*bytes` bytes. On success move
 * `*data` behind the last byte written, set `*bytes` to the number of bytes
 * written (a multiple of 4, better of 8) and `*object_types` to the number of
 * objects, and return ERROR_SUCCESS.
 *
 * In all other cases leave `*data` unchanged, set both counts to 0 and return
 *
 *     ERROR_MORE_DATA  if the buffer is too small; the next call has a larger one
 *     ERROR_SUCCESS    if the provider has none of the requested objects, or on
 *                      failure; write the reason to the system's log, not at
 *                      every call
 *
 * A provider whose collection takes long answers only requests by index and
 * "Costly". The reader tests every answer and discards one that fails a test.
 */
typedef DWORD(APIENTRY *PERFHIVE_COLLECT)(LPWSTR value, LPVOID *data, LPDWORD bytes,
                                          LPDWORD object_types);

/* Close is the counterpart of one Open. Returns ERROR_SUCCESS. */
typedef DWORD(APIENTRY *PERFHIVE_CLOSE)(void);

/* ---- Beyond Windows ---- */

/*
 * What perfhive's loader passes to a library. (On Windows a provider reads its
 * indexes from the registry and reports to the event log.)
 *
 * Registration chooses the indexes of your names: the first one is
 * `first_counter`, and that of the first help text `first_help`; the others
 * follow by the offsets of your .ini file. To learn them, export a function of
 * the type PERFHIVE_HOST_FUNCTION under the name of your Collect function with
 * `Host` behind it: `CollectGauges` goes with `CollectGaugesHost`. It is called
 * once, before the first Open; the structure stays until the library is
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
    /* The first argument of `report`. */
    void *context;
    /*
     * Takes a message for the administrator, in UTF-8: why Open or Collect
     * failed. May be called from any thread. A Collect that gives no data and
     * reports a message counts as failed.
     */
    void(APIENTRY *report)(void *context, const char *text, size_t length);
} PERFHIVE_HOST;

typedef void(APIENTRY *PERFHIVE_HOST_FUNCTION)(const PERFHIVE_HOST *host);

#endif /* PERFHIVE_PROVIDER_H */
