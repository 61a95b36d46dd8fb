/**
 * Types of values that plugins define. A column has one by its name, `custom:<plugin>.<type>` or `custom:base.<plugin>.<type>`; its
 * values are any JSON. The *members* of a type are the searchable parts of a value, each like a column with a type of its own.
 */
import { columnTypes } from './column-types.ts'

/** Types that a member cannot have: parts of values have no links, files or ranges. */
const notMembers = ['daterange', 'eas', 'link'] as const
export type MemberType = Exclude<(typeof columnTypes)[number], (typeof notMembers)[number]>

export const memberTypes = columnTypes.filter((type): type is MemberType => !notMembers.some((not) => not === type))

export interface CustomMember {
  readonly name: string
  readonly type: MemberType
  /** Whether its words are offered as completions while people type. */
  readonly terms: boolean
}

export interface CustomType {
  /** Days after which its updater is asked for a value again, if the value itself has no other period. */
  readonly expiresDays: number
  readonly members: readonly CustomMember[]
}

/** By `<plugin>.<type>`. */
export type CustomTypes = ReadonlyMap<string, CustomType>

/** `custom:base.gnd.person` is the type `gnd.person`. */
export function customTypeName(typeName: string): string {
  return typeName.replace(/^custom:(?:base\.)?/, '')
}
