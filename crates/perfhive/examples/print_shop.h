/* Offsets of the names in print_shop.ini, as print_shop.rs has them. */
#define PRINT_SHOP 0
#define PAGES_PRINTED 2
#define PAGES_PER_SECOND 4
#define PAGES_PER_JOB 6
#define JOBS 8
#define JOBS_WAITING 10
