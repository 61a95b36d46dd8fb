/**
 * Types of values that plugins bring. A column has one by its name, `custom:<plugin>.<type>` or `custom:base.<plugin>.<type>`;
 * what it holds is any JSON. The *members* of a type are those parts of a value that can be searched, each like a column of a
 * type of its own.
 */
import { columnTypes } from './column-types.ts'

/** What a member cannot be: parts of values link to nothing, and are no ranges. */
const notMembers = ['daterange', 'eas', 'link'] as const
export type MemberType = Exclude<(typeof columnTypes)[number], (typeof notMembers)[number]>

export const memberTypes = columnTypes.filter((type): type is MemberType => !notMembers.some((not) => not === type))

export interface CustomMember {
  readonly name: string
  readonly type: MemberType
  /** Its words complete what people type. */
  readonly terms: boolean
}

export interface CustomType {
  /** Days after which its updater is asked for a value again, where the value does not say. */
  readonly expiresDays: number
  readonly members: readonly CustomMember[]
}

/** By `<plugin>.<type>`. */
export type CustomTypes = ReadonlyMap<string, CustomType>

/** `custom:base.gnd.person` is the type `gnd.person`. */
export function customTypeName(typeName: string): string {
  return typeName.replace(/^custom:(?:base\.)?/, '')
}
