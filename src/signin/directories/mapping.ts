import { attributeTemplate } from '../../platform/values/attribute-templates.ts'
import { DirectoryRefusal, type Mapping, type Person, printable } from './model.ts'

/** Maximum number of characters of a field. */
const longestField = 500

/** Fields that identify a user. */
const naming: readonly string[] = ['login', 'email', 'reference']

/** A person in the form of a user: the mapped fields with a value. */
export type MappedFields = Readonly<Record<string, string>>

/**
 * Applies the mapping to the attributes. A field with an empty result counts as not mapped, and so does an address that the
 * directory has not verified.
 * @throws {DirectoryRefusal} when a name cannot be stored exactly as it is: shortened or repaired it could be the name of another
 * person
 */
export function mappedFields(mapping: Mapping, person: Person): MappedFields {
  const values = mapping.usermapping.map(({ key, value }) => [key, fieldOf(key, value, mapping, person)])
  return Object.fromEntries(values.filter(([, value]) => value !== ''))
}

function fieldOf(key: string, template: string, mapping: Mapping, { attributes, vouched }: Person): string {
  const { names, expand } = attributeTemplate(template)
  const finds = key === mapping.userupdatecolumn
  // The text around the placeholders is the same for everybody.
  if (finds && (names.length === 0 || names.some((name) => !attributes(name)[0]))) return ''
  const raw = expand(attributes)
  const plain = printable(raw).trim()
  if (!naming.includes(key)) return plain.slice(0, longestField).trim()
  if (plain.length > longestField || plain !== (finds ? raw : raw.trim())) {
    const text = `The value of ${key} is longer than ${longestField} characters, or has others than a name may have.`
    throw new DirectoryRefusal('incomplete', text)
  }
  return key === 'email' && vouched !== 'all' && !vouched.includes(raw) ? '' : plain
}

/** The value by which the user is found, as the directory gives it. @throws {DirectoryRefusal} when there is none */
export function findingValue({ userupdatecolumn }: Mapping, fields: MappedFields): string {
  const value = fields[userupdatecolumn]
  if (value !== undefined) return value
  const unsure = userupdatecolumn === 'email' ? ' that it has made sure of' : ''
  const text = `The directory has no value for ${userupdatecolumn}${unsure}, which finds the user.`
  throw new DirectoryRefusal('incomplete', text)
}
