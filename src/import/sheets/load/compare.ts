/** The changes that an import would make to an existing object. */

type Block = Readonly<Record<string, unknown>>

/** The fields whose values differ from the stored ones, in the form to send: texts in other languages are kept. */
export function differences(sent: Block, stored: Block): Record<string, unknown> {
  const changed: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(sent)) {
    const before = stored[name]
    if (isSame(value, before)) continue
    changed[name] = isTexts(value) && isTexts(before) ? { ...before, ...value } : value
  }
  return changed
}

/** Whether the stored value contains the whole sent value; links and files are compared by their ids. */
function isSame(sent: unknown, stored: unknown): boolean {
  if (sent === null) return isEmpty(stored)
  if (Array.isArray(sent)) {
    const list = Array.isArray(stored) ? stored : []
    return sent.length === list.length && sent.every((entry, index) => isSame(entry, list[index]))
  }
  if (typeof sent !== 'object') return sent === stored
  if (typeof stored !== 'object' || stored === null) return isEmpty(sent)
  const before = stored as Block
  if ('_system_object_id' in sent) return before._system_object_id === sent._system_object_id
  // A missing end of a range means that the range is open.
  if ('from' in sent || 'to' in sent) {
    const { from, to, text = null } = sent as Block
    return from === before.from && to === before.to && isSame(text, before.text)
  }
  return Object.entries(sent).every(([name, value]) => isSame(value, before[name]))
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

const partsOfDates = new Set(['value', 'from', 'to', 'text'])

/** A text by languages. */
function isTexts(value: unknown): value is Block {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const names = Object.keys(value)
  return names.length > 0 && names.every((name) => /^[A-Za-z]{2,8}(-|$)/.test(name) && !partsOfDates.has(name))
}
