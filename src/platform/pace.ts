/** How slow a client may be. */
export interface Pace {
  /** Seconds over which a client is watched before it counts as slow. */
  readonly grace: number
  /** Least bytes per second; 0: any. */
  readonly leastRate: number
}
