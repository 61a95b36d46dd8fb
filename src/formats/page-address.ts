import type { Wire } from '../objects/service.ts'

/** Where an object has a page for people; null: nowhere. */
export type PageOf = (object: { readonly systemObjectId: number; readonly uuid: string }) => string | null

/** The page of an object as it is answered. */
export function pageAddress(pageOf: PageOf, { _system_object_id: systemObjectId, _uuid: uuid }: Wire): string | null {
  return typeof uuid === 'string' && typeof systemObjectId === 'number' ? pageOf({ systemObjectId, uuid }) : null
}
