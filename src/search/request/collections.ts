/** Whether a request uses lists of collections: then the collections that the caller may see are read first. */
import { deepest, type Fields } from './read.ts'

const name = '_collections'

/** Members of a request that may contain names of fields, at any depth. */
const members = ['search', 'subsearch', 'aggregations', 'fields', 'field', 'sort', 'path']

export function namesCollections(request: Fields, depth = 0): boolean {
  // Members that are nested deeper are refused by the code that reads them.
  if (depth > 2 * deepest + 4) return false
  const inValue = (value: unknown): boolean => {
    if (typeof value === 'string') return value.includes(name)
    if (Array.isArray(value)) return value.some(inValue)
    return typeof value === 'object' && value !== null && namesCollections(value as Fields, depth + 1)
  }
  return members.some((member) => {
    const value = request[member]
    if (member !== 'aggregations' || typeof value !== 'object' || value === null) return inValue(value)
    return Object.values(value).some(inValue)
  })
}
