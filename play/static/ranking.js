// Order of two games: finished ones by time, then the others by distance.

export const better = (one, two) => {
  const rank = ({ outcome, metres, seconds }) => (outcome === "finished" ? 1e6 - seconds : metres);
  return rank(one) > rank(two);
};

export const bestOf = (games) => games.reduce((best, game) => (!best || better(game, best) ? game : best), null);
