import type { NeededRight } from '../platform/http/system-right.ts'

/** Reading the whole log; without it a caller is told what it may see. */
export const readEvents: NeededRight = { name: 'system.api.event', parameter: 'get' }
export const deleteEvents: NeededRight = { name: 'system.api.event', parameter: 'delete' }
