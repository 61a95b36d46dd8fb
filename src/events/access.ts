import type { NeededRight } from '../platform/http/system-right.ts'

/** The right to read the whole log. Without it a caller gets only the events that it may see. */
export const readEvents: NeededRight = { name: 'system.api.event', parameter: 'get' }
export const deleteEvents: NeededRight = { name: 'system.api.event', parameter: 'delete' }
