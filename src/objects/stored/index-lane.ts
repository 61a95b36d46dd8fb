/** Objects that are queued for the index in large batches let single objects pass (`index_queue.bulk`). */
export const mostSingle = 100

/** Whether a statement queues a large batch, as an expression beside the rows that it queues. */
export const isBulk = `count(*) over () > ${mostSingle}`
