import type { SaveOptions } from './save.ts'

/** The options for a save without a user who could answer questions: the answers are given in advance, as far as possible. */
export const unattended: Omit<SaveOptions, 'partial' | 'dryRun' | 'strict'> = {
  skipReverseNested: true,
  skipBidirectionalUpdate: false,
  skipIndex: false,
  skipConstraints: false,
  skipPlugins: false,
  skipEvents: false,
  revoke: true,
  confirmTransition: 'ALL',
  collection: undefined,
  collectionPolicy: 'setinvalid',
  reversePoolChangedMode: undefined,
}
