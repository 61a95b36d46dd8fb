/** Objects that are queued for the index together in larger numbers let single ones pass (`index_queue.bulk`). */
export const mostSingle = 100

/** Whether a statement queues many, as an expression beside the rows that it queues. */
export const isBulk = `count(*) over () > ${mostSingle}`
